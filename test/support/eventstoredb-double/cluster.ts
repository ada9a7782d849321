import gossipGrpc from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import type { ClusterInfo, MemberInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import { ServerCredentials, type sendUnaryData } from '@grpc/grpc-js';
import type { IssuedCertificate } from '../certificates.ts';
import { type BadDays, goodDays } from './bad-days.ts';
import { createToll, freeOfCharge } from './costs.ts';
import { type Relay, startRelay } from './relay.ts';
import { openServer } from './start.ts';
import { createStoredLog, type StoredLog } from './stored-log.ts';

const NODES = [0, 1, 2] as const;
const STYLE = '24.10.5';

/** Three nodes with TLS and one log, as if each event were on a majority of them. The first is the leader. */
export interface EventStoreDbCluster {
  /** `localhost:<port>` of each node, separated by commas. */
  readonly hosts: string;
  readonly log: StoredLog;
  readonly badDays: BadDays;
  /** Kills the leader: its connections break. Until `elect`, no node is the leader and none accepts an append. */
  killLeader(): Promise<void>;
  /** Makes the next living node the leader. */
  elect(): void;
  close(): Promise<void>;
}

interface Members {
  readonly relays: readonly Relay[];
  isAlive(node: number): boolean;
  stateOf(node: number): MemberInfo.VNodeState;
}

const memberOf = ({ relays, isAlive, stateOf }: Members, node: number): MemberInfo => {
  const endpoint = new gossip.EndPoint();
  endpoint.setAddress('localhost');
  endpoint.setPort(relays[node]?.port ?? 0);
  const id = new shared.UUID();
  id.setString(`00000000-0000-4000-8000-00000000000${node}`);
  const member = new gossip.MemberInfo();
  member.setInstanceId(id);
  member.setTimeStamp('0');
  member.setState(stateOf(node));
  member.setIsAlive(isAlive(node));
  member.setHttpEndPoint(endpoint);
  return member;
};

/** @param certificate of `localhost`. */
export const startEventStoreDbCluster = async (certificate: IssuedCertificate): Promise<EventStoreDbCluster> => {
  const { FOLLOWER, LEADER, UNKNOWN } = gossip.MemberInfo.VNodeState;
  const log = createStoredLog();
  const badDays = goodDays();
  const toll = createToll(freeOfCharge());
  const dead = new Set<number>();
  const relays: Relay[] = [];
  let leader: number | null = NODES[0];

  const members: Members = {
    relays,
    isAlive: (node) => !dead.has(node),
    stateOf: (node) => {
      if (leader === null) return UNKNOWN;
      return node === leader ? LEADER : FOLLOWER;
    },
  };
  const read = (_: unknown, callback: sendUnaryData<ClusterInfo>): void => {
    const info = new gossip.ClusterInfo();
    info.setMembersList(NODES.map((node) => memberOf(members, node)));
    callback(null, info);
  };
  const credentials = ServerCredentials.createSsl(null, [
    { private_key: Buffer.from(certificate.key), cert_chain: Buffer.from(certificate.certificate) },
  ]);
  const kill = async (node: number): Promise<void> => {
    dead.add(node);
    if (leader === node) leader = null;
    await relays[node]?.stop();
  };
  const servers = await Promise.all(
    NODES.map(async (node) => {
      const cutConnections = () => void kill(node);
      const isLeader = () => leader === node;
      const { server, listen } = openServer(
        { log, badDays, style: STYLE, toll, cutConnections, isLeader },
        credentials,
      );
      server.addService(gossipGrpc.GossipService, { read });
      return { server, port: await listen() };
    }),
  );
  for (const { port } of servers) relays.push(await startRelay(port));
  return {
    hosts: relays.map(({ port }) => `localhost:${port}`).join(),
    log,
    badDays,
    killLeader: () => kill(leader ?? NODES[0]),
    elect: () => {
      leader = NODES.find((node) => !dead.has(node)) ?? null;
    },
    close: async () => {
      for (const relay of relays) await relay.stop();
      for (const { server } of servers) server.forceShutdown();
    },
  };
};
