export const SELECT_RECIPIENTS = `
  select message_id, recipients, expires_at, scheduled_at from messages where message_id = any($1)`;

export const INSERT_MESSAGES = `
  insert into messages (message_id, organization_id, environment, domain_id, key_id, content_id, internet_message_id,
    stream, size_bytes, status, partial, recipients, created_at, updated_at, expires_at, scheduled_at)
  select "messageId", "organizationId", environment, "domainId", "keyId", "contentId", "internetMessageId",
    stream, "sizeBytes", status, partial, recipients, "createdAt", "updatedAt", "expiresAt", "scheduledAt"
  from json_to_recordset($1) as m("messageId" text, "organizationId" text, environment text, "domainId" text,
    "keyId" text, "contentId" text, "internetMessageId" text, stream text, "sizeBytes" integer, status text,
    partial boolean, recipients json, "createdAt" timestamptz, "updatedAt" timestamptz, "expiresAt" timestamptz,
    "scheduledAt" timestamptz)`;

export const INSERT_LABELS = `
  insert into message_labels (organization_id, environment, label, created_at, message_id)
  select "organizationId", environment, label, "createdAt", "messageId"
  from json_to_recordset($1) as l("organizationId" text, environment text, label text, "createdAt" timestamptz,
    "messageId" text)`;

export const UPDATE_MESSAGES = `
  update messages m
  set status = u.status, partial = u.partial, recipients = u.recipients, updated_at = u."updatedAt",
    expires_at = u."expiresAt", scheduled_at = u."scheduledAt"
  from json_to_recordset($1) as u("messageId" text, status text, partial boolean, recipients json,
    "updatedAt" timestamptz, "expiresAt" timestamptz, "scheduledAt" timestamptz)
  where m.message_id = u."messageId"`;
