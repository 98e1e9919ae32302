"""Plans and starts whole leagues: agents served in this process, or in several processes."""
