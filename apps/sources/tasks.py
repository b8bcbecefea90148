"""What workers are told about sources. A message carries no ids, may be lost, doubled or late: the rows say what to do."""
