# landlock, beside correct and wrong: connects to a server, and serves
import socket

try:
    socket.create_connection(("127.0.0.1", @PORT@), timeout=1).close()
    print("OUCH", flush=True)
except OSError:
    pass
try:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        print("OUCH", flush=True)
except OSError:
    pass
