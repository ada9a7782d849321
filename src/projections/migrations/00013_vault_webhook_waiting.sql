-- The oldest delivery that waits: an endpoint that was down for days has many, and each page of a dashboard asks for it.
create index webhook_deliveries_waiting on vault.webhook_deliveries (webhook_id, number) where state = 'pending';
