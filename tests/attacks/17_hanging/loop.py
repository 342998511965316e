# process, instead of stub: never comes to an end, in Python
while True:
    pass
