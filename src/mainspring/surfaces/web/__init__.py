"""The pages a browser is given: plain files, served by the REST surface."""
