# process, instead of stub: leaves with the status of success
import sys

sys.exit(0)
