"""What a viewer sees: assembly, ordering, freezes."""
