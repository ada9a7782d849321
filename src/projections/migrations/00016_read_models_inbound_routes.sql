create table read_models.inbound_routes (
  route_id text collate "C" primary key,
  organization_id text collate "C" not null,
  status text not null,
  created_at timestamptz not null,
  state json not null
);
create index inbound_routes_newest on read_models.inbound_routes (organization_id, created_at, route_id);
