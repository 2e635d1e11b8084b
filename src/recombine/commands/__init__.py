"""What each command of the command line does. Wrong use raises a UserError, one line that says what to do."""
