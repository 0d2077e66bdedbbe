"""Demo page of the module in this folder: `python app.py`, or a Space made of the folder."""

try:
    from manycaps.pages.module_page import module_page
except ImportError as error:
    raise SystemExit(f"app.py: {error}. Run pip install -r requirements.txt 'manycaps[demo]'.") from error

PAGE = module_page(__file__)
page = PAGE.build(__file__)

if __name__ == "__main__":
    PAGE.serve(page)
