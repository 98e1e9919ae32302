"""`python -m bench`, which is what `league dev bench` runs."""

from bench.command import main

if __name__ == "__main__":
    main()
