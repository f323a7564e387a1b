-- The way back from 0017: terminals are signed out, and no token may agree to anything.
-- lost: sessions at terminals = SELECT count(*) FROM sessions WHERE kind = 'terminal'
-- lost: tokens that may approve (they keep their role) = SELECT count(*) FROM access_tokens WHERE approves IS NOT NULL

DROP TABLE terminal_sign_ins;
DELETE FROM sessions WHERE kind = 'terminal';
ALTER TABLE sessions DROP COLUMN kind;
ALTER TABLE access_tokens DROP COLUMN approves;
