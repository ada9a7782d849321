export const SELECT_MESSAGES = `
  select message_id as "messageId", domain_id as "domainId" from standing_messages where message_id = any($1)`;

export const INSERT_MESSAGES = `
  insert into standing_messages (message_id, domain_id)
  select "messageId", "domainId" from json_to_recordset($1) as m("messageId" text, "domainId" text)`;

export const INSERT_DOMAINS = `
  insert into standing_domains (domain_id, organization_id)
  select "domainId", "organizationId" from json_to_recordset($1) as d("domainId" text, "organizationId" text)
  on conflict (domain_id) do nothing`;

export const RELEASE = `
  update standing_domains d set released_at = r."releasedAt"
  from json_to_recordset($1) as r("domainId" text, "releasedAt" timestamptz)
  where d.domain_id = r."domainId"`;

export const DELETE_COUNTS = 'delete from standing_counts where domain_id = any($1)';

export const ADD_COUNTS = `
  insert into standing_counts as s (domain_id, day, delivered, bounced, complained)
  select "domainId", day, delivered, bounced, complained
  from json_to_recordset($1) as c("domainId" text, day date, delivered bigint, bounced bigint, complained bigint)
  on conflict (domain_id, day) do update set delivered = s.delivered + excluded.delivered,
    bounced = s.bounced + excluded.bounced, complained = s.complained + excluded.complained`;
