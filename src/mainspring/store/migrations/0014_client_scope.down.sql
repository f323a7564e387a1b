-- The way back from 0014; the scopes that clients registered with are lost.

ALTER TABLE mcp_clients DROP COLUMN scope;
