# process, instead of stub: ends the process with the status of success
import os

os._exit(0)
