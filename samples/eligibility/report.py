def write_report(path, evaluation):
    pass
