"""Learning: computes what was asked for, level by level, cohort by cohort."""
