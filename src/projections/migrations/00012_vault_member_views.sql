-- Views of the dashboard that members saved: filters, under a name.
create table vault.member_views (
  member_id text primary key,
  organization_id text not null,
  -- Array of {name, path, query, digests}: keyed digests of the addresses in the view.
  views jsonb not null,
  -- The digests of all views.
  address_digests text[] not null
);

create index member_views_of_address on vault.member_views using gin (address_digests) where address_digests <> '{}';
