import { rowsInto } from '../copy-rows.ts';

export const SELECT_MESSAGES = `
  select message_id as "messageId", domain_id as "domainId" from standing_messages where message_id = any($1)`;

export const insertMessages = rowsInto<{ readonly messageId: string; readonly domainId: string }>('standing_messages', {
  message_id: 'messageId',
  domain_id: 'domainId',
});

export const INSERT_SENDERS = `
  insert into standing_senders (sender_id, organization_id)
  select "senderId", "organizationId" from json_to_recordset($1) as d("senderId" text, "organizationId" text)
  on conflict (sender_id) do nothing`;

export const RELEASE = `
  update standing_senders d set released_at = r."releasedAt"
  from json_to_recordset($1) as r("senderId" text, "releasedAt" timestamptz)
  where d.sender_id = r."senderId"`;

export const DELETE_COUNTS = 'delete from standing_counts where sender_id = any($1)';

export const ADD_COUNTS = `
  insert into standing_counts as s (sender_id, day, delivered, bounced, complained)
  select "senderId", day, delivered, bounced, complained
  from json_to_recordset($1) as c("senderId" text, day date, delivered bigint, bounced bigint, complained bigint)
  on conflict (sender_id, day) do update set delivered = s.delivered + excluded.delivered,
    bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained`;
