-- Who was at the other end of requests that managed something; events name them by id. Swept after a year.
create table vault.request_origins (
  id uuid primary key,
  organization_id text not null,
  address text not null,
  user_agent text,
  at timestamptz not null
);

create index request_origins_by_age on vault.request_origins (at);
