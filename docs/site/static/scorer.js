// What a search shows first: the course, then the guides, then what proves that the grader is right, and the checks' own sources.
var Scorer = {
  score: ([docname, , , , score]) => {
    if (/^(certification|mutants|attacks|results\/|contributing|numbers)/.test(docname)) return score / 20;
    if (/^(checks\/|grading|clusters|ci_template|instructor)/.test(docname)) return score / 5;
    return score;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
