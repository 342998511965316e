# process, instead of stub: prints without end
while True:
    print("x" * 4096)
