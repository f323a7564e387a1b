-- Pages: what a workspace knows, found by words and by meaning.
SELECT 1;
