# landlock, beside correct and wrong: reads credentials and the secret of the hidden cases
import os

HOME = "@CANARY@/home"
for name in (".netrc", ".ssh/id_ed25519", ".local/share/grade/secrets/course"):
    try:
        print("OUCH", open(os.path.join(HOME, name)).read(), flush=True)
    except OSError:
        pass
