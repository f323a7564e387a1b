-- Boards: datasets of rows, with their columns, skills, forms and dashboard.
SELECT 1;
