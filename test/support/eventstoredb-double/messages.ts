import type { UUID } from '@eventstore/db-client/generated/shared_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { AppendReq, BatchAppendReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ProposedEvent, StoredRecord } from './stored-log.ts';

/** .NET ticks (100 ns) per millisecond of the Unix epoch, as the client reads them. */
const TICKS_PER_MS = 10_000n;

export const streamIdentifier = (name: string): InstanceType<typeof shared.StreamIdentifier> => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(name, 'utf8'));
  return identifier;
};

export const streamName = (identifier: { getStreamName_asU8(): Uint8Array } | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8');

export const uuidText = (uuid: UUID | undefined): string => uuid?.getString() ?? '';

export const proposedEvent = (
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage | undefined,
): ProposedEvent => ({
  id: uuidText(message?.getId()),
  type: message?.getMetadataMap().get('type') ?? '',
  contentType: message?.getMetadataMap().get('content-type') ?? '',
  data: message?.getData_asU8() ?? new Uint8Array(),
  metadata: message?.getCustomMetadata_asU8() ?? new Uint8Array(),
});

export const eventMessage = (record: StoredRecord): ReadResp => {
  const id = new shared.UUID();
  id.setString(record.id);
  const event = new streams.ReadResp.ReadEvent.RecordedEvent();
  event.setId(id);
  event.setStreamIdentifier(streamIdentifier(record.stream));
  event.setStreamRevision(String(record.revision));
  event.setCommitPosition(String(record.position));
  event.setPreparePosition(String(record.position));
  event.getMetadataMap().set('type', record.type);
  event.getMetadataMap().set('content-type', record.contentType);
  event.getMetadataMap().set('created', String(BigInt(record.created.getTime()) * TICKS_PER_MS));
  event.setData(record.data);
  event.setCustomMetadata(record.metadata);
  const read = new streams.ReadResp.ReadEvent();
  read.setEvent(event);
  read.setCommitPosition(String(record.position));
  const message = new streams.ReadResp();
  message.setEvent(read);
  return message;
};

export const notFoundMessage = (stream: string): ReadResp => {
  const notFound = new streams.ReadResp.StreamNotFound();
  notFound.setStreamIdentifier(streamIdentifier(stream));
  const message = new streams.ReadResp();
  message.setStreamNotFound(notFound);
  return message;
};

export const confirmationMessage = (): ReadResp => {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation();
  confirmation.setSubscriptionId(crypto.randomUUID());
  const message = new streams.ReadResp();
  message.setConfirmation(confirmation);
  return message;
};

export const caughtUpMessage = (): ReadResp => {
  const message = new streams.ReadResp();
  message.setCaughtUp(new streams.ReadResp.CaughtUp());
  return message;
};

export const checkpointMessage = (position: number): ReadResp => {
  const checkpoint = new streams.ReadResp.Checkpoint();
  checkpoint.setCommitPosition(String(position));
  checkpoint.setPreparePosition(String(position));
  const message = new streams.ReadResp();
  message.setCheckpoint(checkpoint);
  return message;
};
