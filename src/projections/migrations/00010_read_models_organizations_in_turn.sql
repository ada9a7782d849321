-- Each organization at each destination in turn: a backlog of one does not delay another's mail there.
drop index read_models.deliveries_by_destination;
create index deliveries_by_flow on read_models.deliveries (destination, (coalesce(organization_id, '')), bulk, due_at);
