"""The parent's side of running a submission: starts workers, keeps limits, takes claims."""
