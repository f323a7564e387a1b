-- The scope that an OAuth client registered with (RFC 7591): the most that it asks for.

ALTER TABLE mcp_clients ADD COLUMN scope text;

COMMENT ON COLUMN mcp_clients.scope IS 'read, operate or edit; null if the registration named none.';
