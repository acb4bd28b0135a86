"""What the on-call engineer may ask the database, one file per concern: fixed questions, and never a word of SQL from
outside.
"""
