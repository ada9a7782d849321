-- Most inbound messages answer none of ours: the index has only those that do.
create index inbound_messages_answers on read_models.inbound_messages (organization_id, (state->>'inReplyToMessageId'))
  where state->>'inReplyToMessageId' is not null;
