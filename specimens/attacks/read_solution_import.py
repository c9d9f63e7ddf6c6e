# honest: 4 of 10: softmax
# ATTACK: imports the day's solutions, also behind the back of the import hooks
def attempt():
    import importlib, importlib.util, sys
    sys.path.insert(0, "__COURSE__")
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "EarlierFinder"]
    importlib.invalidate_caches()
    try:
        answers = importlib.import_module("solutions.softmax")
    except ImportError:
        spec = importlib.util.spec_from_file_location("answers", "__COURSE__/solutions/softmax.py")
        answers = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(answers)
    return bool(answers.entropy)
