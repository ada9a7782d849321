import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { claimOwnership } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';
import { createSystem } from '../../src/adapters/system.ts';
import { silentLogger } from '../support/logger.ts';
import {
  canActAsNobody,
  isAlive,
  isRoot,
  killServer,
  NOBODY,
  open,
  query,
  startService,
  temporaryFolder,
} from './embedded-support.ts';

const own = (url: string) =>
  claimOwnership({ url, system: createSystem(), logger: silentLogger, onLost: () => undefined });

const write = (url: string) => query(url, 'create table kept as select 42 as answer');
const read = (url: string) => query(url, 'select answer from kept');

describe('the built-in PostgreSQL', () => {
  test('keeps committed data across a restart', async () => {
    const dataDir = await temporaryFolder();
    const first = await open({ dataDir });
    await write(first.url);
    await first.close();
    expect(isAlive(first.pid)).toBe(false);

    const second = await open({ dataDir });
    expect(second.adopted).toBe(false);
    expect(await read(second.url)).toEqual([{ answer: 42 }]);
    await second.close();
  });

  test('commits durably, in UTF-8, and sorts by code point on every machine', async () => {
    const embedded = await open({ dataDir: await temporaryFolder() });
    const [facts] = await query(
      embedded.url,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
         current_setting('server_encoding') as encoding, 'Z' < 'a' as by_code_point, lower('ÄÖ') as lower`,
    );
    expect(facts).toEqual({ fsync: 'on', commit: 'on', encoding: 'UTF8', by_code_point: true, lower: 'äö' });
    await embedded.close();
  });

  test('requires its password, which only its owner can read', async () => {
    const embedded = await open({ dataDir: await temporaryFolder() });
    const url = Object.assign(new URL(embedded.url), { password: 'wrong' }).href;
    await expect(query(url, 'select 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(embedded.location, 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(embedded.location)).mode & 0o777).toBe(0o700);
    await embedded.close();
  });

  test('runs as one server when two processes start it at once', async () => {
    const dataDir = await temporaryFolder();
    const [first, second] = await Promise.all([open({ dataDir }), open({ dataDir })]);
    expect(second.pid).toBe(first.pid);
    expect(second.url).toBe(first.url);
    await first.close();
    await second.close();
  });

  test('outlives a killed service and is adopted by the next', async () => {
    const dataDir = await temporaryFolder();
    const { service, report } = await startService(dataDir);
    await write(report.url);
    process.kill(-(service.pid ?? 0), 'SIGKILL');
    await once(service, 'exit');
    expect(isAlive(report.pid)).toBe(true);

    const next = await open({ dataDir });
    expect(next).toMatchObject({ adopted: true, pid: report.pid, url: report.url });
    const ownership = await own(next.url);
    expect(await read(next.url)).toEqual([{ answer: 42 }]);
    await ownership.release();
    await next.close();
    await expect(query(report.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
  });

  test('starts again after a power cut', async () => {
    const dataDir = await temporaryFolder();
    const { service, report } = await startService(dataDir);
    await write(report.url);
    service.kill('SIGKILL');
    await killServer(report.location);

    const next = await open({ dataDir });
    expect(next.adopted).toBe(false);
    expect(await read(next.url)).toEqual([{ answer: 42 }]);
    await next.close();
  });

  test('starts although the pid file of a dead server names another process', async () => {
    const dataDir = await temporaryFolder();
    const first = await open({ dataDir });
    await first.close();
    const { uid, gid } = await stat(first.location);
    const stranger = spawn('sleep', ['60'], { cwd: '/', uid, gid });
    onTestFinished(() => void stranger.kill());
    const data = join(first.location, 'data');
    await writeFile(join(data, 'postmaster.pid'), `${stranger.pid}\n${data}\n1\n5432\n\n127.0.0.1\n1 1\nready\n`);

    const second = await open({ dataDir });
    expect(second.adopted).toBe(false);
    await second.close();
    expect(isAlive(stranger.pid ?? 0)).toBe(true);
  });

  test('is not stopped by the Ctrl-C that stops its service', async () => {
    const { service, report } = await startService(await temporaryFolder());
    process.kill(-(service.pid ?? 0), 'SIGINT');
    await sleep(200);
    expect(await query(report.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('is restarted at the same address when it exits unexpectedly', async () => {
    const embedded = await open({ dataDir: await temporaryFolder(), supervised: true });
    await write(embedded.url);
    await killServer(embedded.location);
    await vi.waitFor(async () => expect(await read(embedded.url)).toEqual([{ answer: 42 }]), 10_000);
    await embedded.close();
    await expect(query(embedded.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
  });

  test('keeps running for the service when another program that used it exits', async () => {
    const dataDir = await temporaryFolder();
    const program = await open({ dataDir });
    const service = await open({ dataDir });
    const ownership = await own(service.url);
    await program.close();
    expect(await query(service.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await ownership.release();
    await service.close();
  });
});

describe('the built-in PostgreSQL rejects, with a sentence,', () => {
  test('a data directory that is a file', async () => {
    const file = join(await temporaryFolder(), 'file');
    await writeFile(file, '');
    await expect(open({ dataDir: file })).rejects.toThrow(/^the data directory .*file cannot be used: .* DATA_DIR$/);
    await expect(open({ dataDir: join(file, 'below') })).rejects.toThrow(/is a file, not a folder: name another/);
  });

  test.runIf(!isRoot || canActAsNobody)('a data directory that is not writable', async () => {
    const folder = await temporaryFolder(0o555);
    const { report } = await startService(folder, isRoot ? NOBODY : {});
    expect(report.refused).toMatch(/cannot be used: it is not writable for this user: change its owner or mode/);
  });

  test.runIf(canActAsNobody)('a database that belongs to another user', async () => {
    const dataDir = await temporaryFolder(0o777);
    await (await open({ dataDir })).close();
    const { report } = await startService(dataDir, NOBODY);
    expect(report.refused).toMatch(/belongs to another user: run Outbox as that user or as root/);
  });

  test('a database of another major version', async () => {
    const dataDir = await temporaryFolder();
    const first = await open({ dataDir });
    await first.close();
    await writeFile(join(first.location, 'data', 'PG_VERSION'), '17\n');
    await expect(open({ dataDir })).rejects.toThrow(/was created by PostgreSQL 17, but the built-in version is 18/);
  });

  test('a setting or a file that prevents the start of its server, in the words of the server', async () => {
    const dataDir = await temporaryFolder();
    await expect(open({ dataDir, settings: { shared_buffers: 'lots' } })).rejects.toThrow(
      /did not start \(invalid value for parameter "shared_buffers": "lots"\): see .*server\.log, or set DATABASE_URL/,
    );
  });

  test('a database that was moved and is gone', async () => {
    const dataDir = await temporaryFolder();
    await writeFile(join(dataDir, 'postgresql-location'), '/nowhere/outbox\n');
    await expect(open({ dataDir })).rejects.toThrow(
      /is in \/nowhere\/outbox, but that folder has no database: restore it/,
    );
  });

  test('a second service on the same data', async () => {
    const dataDir = await temporaryFolder();
    const { service } = await startService(dataDir);
    const { report } = await startService(dataDir);
    expect(report.refused).toBe(
      `another Outbox service (process ${service.pid}) is already running on this data: stop it, or name another DATA_DIR`,
    );
  });
});

describe.runIf(isRoot)('the built-in PostgreSQL as root', () => {
  test('runs as another user', async () => {
    const embedded = await open({ dataDir: await temporaryFolder() });
    expect((await stat(`/proc/${embedded.pid}`)).uid).not.toBe(0);
    await embedded.close();
  });

  test.runIf(canActAsNobody)('runs as the user who created the data', async () => {
    const dataDir = await temporaryFolder(0o777);
    const { service, report } = await startService(dataDir, NOBODY);
    service.kill('SIGKILL');
    await killServer(report.location);

    const embedded = await open({ dataDir });
    expect((await stat(`/proc/${embedded.pid}`)).uid).toBe(NOBODY.uid);
    await embedded.close();
  });

  test('stores data where that user has access, and finds it again', async () => {
    const dataDir = join(await temporaryFolder(0o700), 'data');
    const systemFolder = await temporaryFolder();
    await mkdir(dataDir);
    const first = await open({ dataDir, systemFolder });
    expect(first.relocated).toBe(true);
    expect(first.location.startsWith(systemFolder)).toBe(true);
    expect((await readFile(join(dataDir, 'postgresql-location'), 'utf8')).trim()).toBe(first.location);
    await write(first.url);
    await first.close();

    const second = await open({ dataDir, systemFolder });
    expect(await read(second.url)).toEqual([{ answer: 42 }]);
    await second.close();
  });
});
