"""How far what is measured can be trusted: judges and samplers."""
