"""What can be asked on the command line; each command is loaded when it is called."""
