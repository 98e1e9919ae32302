"""`python -m bench`, which is what `league bench` runs."""

from bench.command import main

if __name__ == "__main__":
    main()
