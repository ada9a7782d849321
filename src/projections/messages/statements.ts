export const SELECT_RECIPIENTS = `
  select message_id, recipients, expires_at, scheduled_at from messages where message_id = any($1)`;

export const UPDATE_MESSAGES = `
  update messages m
  set status = u.status, partial = u.partial, recipients = u.recipients, updated_at = u."updatedAt",
    expires_at = u."expiresAt", scheduled_at = u."scheduledAt"
  from json_to_recordset($1) as u("messageId" text, status text, partial boolean, recipients json,
    "updatedAt" timestamptz, "expiresAt" timestamptz, "scheduledAt" timestamptz)
  where m.message_id = u."messageId"`;
