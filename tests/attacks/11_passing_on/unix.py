# landlock, beside correct and wrong: connects to sockets with a path and without one
import socket

for address in ("@CANARY@/socket", "\0@TOKEN@"):
    try:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(address)
        print("OUCH", flush=True)
    except OSError:
        pass
