// Checks the compose files against what each image needs to start and to run for years. The facts come from the images' own
// Dockerfiles and entry points, since a machine without a container engine cannot pull them. Prints each fault and ends
// with 1 if there are any. Usage: node .ci/containers.mjs [folder of the repository]
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const read = (path) => readFileSync(join(root, path), 'utf8');

/**
 * `uid`: user of the main process. `volumes`: folders whose contents must outlive the container. `tools`: programs that a
 * health check or an entry point may use. `shm` and `stopSeconds`: minimum. An image that is not listed is a fault: read
 * its Dockerfile first.
 */
const IMAGES = [
  {
    // docker-library/postgres, 18/bookworm/Dockerfile: uid 999 after gosu, VOLUME is the parent of the data since 18,
    // and it warns that ten seconds are too short to stop.
    image: /^postgres:18\./,
    uid: 999,
    volumes: ['/var/lib/postgresql'],
    tools: ['pg_isready', 'psql'],
    shmMb: 256,
    stopSeconds: 60,
    // docker-entrypoint.sh runs a temporary server with listen_addresses='' while it creates the database.
    health: /pg_isready -h 127\.0\.0\.1 /,
    environment: ['POSTGRES_PASSWORD'],
  },
  {
    // kurrent-io/KurrentDB at v26.0.3, Dockerfile: ARG UID=1001, VOLUME /var/lib/kurrentdb and /var/log/kurrentdb, curl.
    image: /^docker\.kurrent\.io\/kurrent-lts\/kurrentdb:26\./,
    uid: 1001,
    volumes: ['/var/lib/kurrentdb'],
    logs: { folder: '/var/log/kurrentdb', off: 'KURRENTDB_DISABLE_LOG_FILE' },
    tools: ['curl'],
    stopSeconds: 60,
    environment: [
      'KURRENTDB_CERTIFICATE_FILE',
      'KURRENTDB_CERTIFICATE_PRIVATE_KEY_FILE',
      'KURRENTDB_DEFAULT_ADMIN_PASSWORD',
    ],
  },
  {
    // kurrent-io/KurrentDB at v24.10.5, Dockerfile: ARG UID=1000, VOLUME /var/lib/eventstore and /var/log/eventstore, curl.
    image: /eventstore(db)?:24\.10\./,
    uid: 1000,
    volumes: ['/var/lib/eventstore'],
    logs: { folder: '/var/log/eventstore', off: 'EVENTSTORE_DISABLE_LOG_FILE' },
    tools: ['curl'],
    stopSeconds: 60,
    environment: [
      'EVENTSTORE_CERTIFICATE_FILE',
      'EVENTSTORE_CERTIFICATE_PRIVATE_KEY_FILE',
      'EVENTSTORE_DEFAULT_ADMIN_PASSWORD',
    ],
  },
  {
    // redis/docker-library-redis, debian/Dockerfile and docker-entrypoint.sh: uid 999 after setpriv, data in /data.
    image: /^redis:8\./,
    uid: 999,
    volumes: ['/data'],
    tools: ['redis-cli'],
    stopSeconds: 30,
  },
  {
    // EventStore/es-gencert-cli at 1.0.2, Dockerfile: uid 1000 unless `user` is set, with bash. It ends when it is done.
    image: /^eventstore\/es-gencert-cli:1\.0\.2$/,
    uid: 1000,
    volumes: [],
    tools: ['bash'],
    once: true,
  },
  {
    // axllent/mailpit, Dockerfile: root, the program is /mailpit.
    image: /^axllent\/mailpit:v1\./,
    uid: 0,
    volumes: [],
    tools: ['/mailpit'],
  },
  {
    // Our own Dockerfile: USER node, which nodejs/docker-node (24/bookworm-slim/Dockerfile) gives 1000. Its health check
    // is in the image.
    image: /^outbox:/,
    uid: 1000,
    volumes: [],
    tools: ['node'],
    stopSeconds: 20,
    ours: true,
  },
];

/** Variables that name a file: each must lie in a folder that the container mounts. */
const FILES = [
  'PLANS_FILE',
  'AUDIT_WITNESSES',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'WEBHOOK_CERT_FILE',
  'WEBHOOK_KEY_FILE',
];
/** Ports for the outside world by the role that listens on them. */
const PORTS = { api: [587, 465], workers: [25] };

const seconds = (text = '10s') => Number.parseInt(text, 10) * (text.endsWith('m') ? 60 : 1);
const megabytes = (text = '64m') => Number.parseInt(text, 10) * (text.endsWith('g') ? 1024 : 1);
/** Targets of a service's mounts with their sources. */
const mountsOf = ({ volumes = [] }) =>
  volumes.map((volume) => volume.split(':')).map(([source, target]) => ({ source, target }));
const inside = (path, folder) => path === folder || path.startsWith(`${folder}/`);
const healthTool = (test = []) => (test[0] === 'CMD' ? test[1] : test[1]?.trim().split(' ')[0]);

/** Rules for every service. Each returns what is wrong, or null. */
const RULES = [
  ({ logging }) =>
    logging?.options?.['max-size'] && logging.options['max-file']
      ? null
      : 'its output is kept without a limit: set logging',
  ({ restart }, { once }) => (restart || once ? null : 'does not start again: set restart'),
  ({ stop_grace_period }, { stopSeconds = 0 }) =>
    seconds(stop_grace_period) >= stopSeconds
      ? null
      : `is killed before it has stopped: stop_grace_period ${stopSeconds}s`,
  ({ shm_size }, { shmMb = 0 }) =>
    megabytes(shm_size) >= shmMb ? null : `has too little shared memory: shm_size ${shmMb}m`,
  (service, { volumes }) => {
    const lost = volumes.find((folder) => !mountsOf(service).some(({ target }) => target === folder));
    return lost ? `loses ${lost} with its container: mount a volume` : null;
  },
  (service, { logs }) =>
    !logs ||
    service.environment?.[logs.off] === 'true' ||
    mountsOf(service).some(({ target }) => target === logs.folder)
      ? null
      : `writes log files without a limit to ${logs.folder}: set ${logs.off}`,
  ({ healthcheck }, { tools, once, ours }) => {
    if (once || ours) return null;
    if (!healthcheck) return 'has no health check';
    const tool = healthTool(healthcheck.test);
    return tools.includes(tool) ? null : `its health check uses ${tool}, which the image does not have`;
  },
  ({ healthcheck }, { health = /^/ }) =>
    health.test(healthcheck?.test?.[1] ?? '')
      ? null
      : `its health check must match ${health}: see the comment in this script`,
  ({ environment = {} }, { environment: needed = [] }) => {
    const unset = needed.find((name) => !environment[name]);
    return unset ? `does not start without ${unset}` : null;
  },
];

/** Rules for containers of Outbox. */
const OURS = [
  ({ sysctls }) =>
    sysctls?.['net.ipv4.ip_unprivileged_port_start'] === '0'
      ? null
      : 'cannot listen below 1024 with every engine: set sysctls',
  (service) => {
    const example = read('.env.example');
    const values = FILES.map((name) => [name, new RegExp(`^(?:# )?${name}=(\\S+)$`, 'm').exec(example)?.[1] ?? '']);
    const lost = values.find(([, path]) => !mountsOf(service).some(({ target }) => inside(path, target)));
    return lost ? `does not mount the file that .env.example names in ${lost[0]}` : null;
  },
];

/** Ports that no service of the file publishes although one with their role listens on them. */
const unpublished = (services) => {
  const ours = Object.values(services).filter(({ build }) => build);
  const published = ours.flatMap(({ ports = [] }) => ports.map((port) => Number(/\d+$/.exec(port)?.[0])));
  const roles = ours.flatMap(({ environment }) => environment.ROLES.split(','));
  return Object.entries(PORTS)
    .filter(([role]) => roles.includes(role))
    .flatMap(([, ports]) => ports)
    .filter((port) => !published.includes(port))
    .map((port) => `port ${port} is not published`);
};

/** A stand-in for es-gencert-cli 1.0.2 with its modes (certificates/create_ca.go and create_node.go). */
const GENCERT = `#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in create-ca) name=ca ;; create-node) name=node ;; -out) out=$2 ;; esac
  shift
done
mkdir -m 755 "$out" && touch "$out/$name.crt" "$out/$name.key" && chmod 444 "$out/$name.crt" && chmod 400 "$out/$name.key"
`;

const mayRead = (path, uid) => {
  const { mode, uid: owner, gid } = statSync(path);
  const shift = uid === 0 || owner === uid ? 6 : gid === uid ? 3 : 0;
  const bit = statSync(path).isDirectory() ? 5 : 4;
  return uid === 0 || ((mode >> shift) & bit) === bit;
};

/** Paths of a volume that a service names in its environment and health check. */
const namedPaths = (service, folder) =>
  [
    ...JSON.stringify([service.environment, service.healthcheck]).matchAll(new RegExp(`${folder}(?:/[\\w.-]+)+`, 'g')),
  ].map(([path]) => path);

/** Runs the command that makes certificates, and compares what each service reads with what its user may read. */
const unreadable = (services, factsOf) => {
  const maker = services.certificates;
  if (!maker) return [];
  if (process.getuid() !== 0) {
    process.stdout.write('not root: whether each user can read the certificates is not checked\n');
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'outbox-certificates-'));
  const bin = join(folder, 'bin');
  const made = join(folder, 'certificates');
  mkdirSync(bin);
  mkdirSync(made);
  writeFileSync(join(bin, 'es-gencert-cli'), GENCERT);
  chmodSync(join(bin, 'es-gencert-cli'), 0o755);
  try {
    const [program, ...options] = maker.entrypoint;
    const script = maker.command[0].replaceAll('/certificates', made);
    const { status, stderr } = spawnSync(program, [...options, script], {
      env: { PATH: `${bin}:/usr/bin:/bin` },
      encoding: 'utf8',
    });
    if (status !== 0) return [`certificates: its command fails: ${stderr}`];
    return Object.entries(services)
      .filter(([, service]) => service !== maker && mountsOf(service).some(({ source }) => source === 'certificates'))
      .flatMap(([name, service]) =>
        namedPaths(service, '/certificates').map((path) => ({
          name,
          path,
          uid: factsOf(service)?.uid,
          real: path.replace('/certificates', made),
        })),
      )
      .filter(({ real, uid }) => ![made, dirname(real), real].every((path) => mayRead(path, uid)))
      .map(({ name, path, uid }) => `${name}: user ${uid} of the image cannot read ${path}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const factsOf = ({ image }) => IMAGES.find((facts) => facts.image.test(image));
const faultsOf = (name, service) => {
  const facts = factsOf(service);
  if (!facts) return [`${name}: ${service.image} is not in the list of this script: read its Dockerfile and add it`];
  return [...RULES, ...(facts.ours ? OURS : [])]
    .map((rule) => rule(service, facts))
    .filter((fault) => fault !== null)
    .map((fault) => `${name}: ${fault}`);
};

let total = 0;
for (const file of ['docker-compose.yml', 'deploy/one-machine.yml', 'deploy/many-machines.yml']) {
  const { services } = parse(read(file), { merge: true });
  const faults = [
    ...Object.entries(services).flatMap(([name, service]) => faultsOf(name, service)),
    ...unpublished(services),
    ...unreadable(services, factsOf),
  ];
  for (const fault of faults) process.stdout.write(`${file}: ${fault}\n`);
  total += faults.length;
}
process.stdout.write(`${total === 0 ? 'the containers have what their images need' : `${total} faults`}\n`);
process.exitCode = total === 0 ? 0 : 1;
