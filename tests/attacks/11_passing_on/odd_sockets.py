# landlock, beside correct and wrong: makes sockets of every family
import socket

for family in range(1, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
            print("OUCH", family, kind, flush=True)
        except OSError:
            pass
