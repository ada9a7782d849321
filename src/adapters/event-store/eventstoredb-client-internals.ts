import type { EventStoreDBClient } from '@eventstore/db-client';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';

type CallArguments = Required<Parameters<StreamsClient['batchAppend']>>;

/** What the client has and its types hide. Its version 6.2.1 is its last, so this does not move. */
interface ClientInternals {
  /** The open channel; opens one where there is none. */
  getChannel(): Promise<{ close(): void }>;
  /** What the server says of itself; asked once per channel. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>;
  /** Opens a call on the channel. Faults of it make the client connect again where that helps: to the leader, say. */
  GRPCStreamCreator<Call>(
    Client: typeof StreamsClient,
    name: string,
    creator: (client: StreamsClient) => Call,
  ): () => Promise<Call>;
  /** Metadata and options that every call carries: the user, the connection's name. */
  callArguments(
    options: { readonly requiresLeader: boolean },
    callOptions: { readonly deadline: number },
  ): [CallArguments[0], CallArguments[1]];
}

export const internalsOf = (client: EventStoreDBClient): ClientInternals => client as unknown as ClientInternals;
