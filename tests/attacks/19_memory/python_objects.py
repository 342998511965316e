# process, instead of stub: takes memory without end, in Python
kept = []
while len(kept) < 100:
    kept.append(bytes(1 << 26))
