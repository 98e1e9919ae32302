"""Players tried out in great numbers: rules and strategies alone, or whole leagues in one process."""
