import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Pool } from 'pg';

/** Changes to the log and the audit trees of `check-trees.test.ts`, with the faults that a check must report. */

export const TREE = 'org_mine';
export const OTHER = 'org_other';
/** The stream with leaves 0 to 299. */
export const STREAM = 'apiKey-key_300';

/** Description, statement, and a part of the one sentence about it. */
export const CHANGES: readonly (readonly [what: string, sql: string, fault: string])[] = [
  [
    'a leaf in the log',
    `update event_log.events set data = '{"keyId":"key_2"}' where stream = '${STREAM}' and revision = 299`,
    'event ID (KeyRevoked, apiKey-key_300 revision 299, leaf 299 of org_mine) was changed in the log: data.keyId was "key_1" and is "key_2". The audit tree is right. The database was changed from outside the service',
  ],
  [
    'the id of a leaf in the log',
    `update event_log.events set id = '01a20a20-0000-7000-8000-000000000000' where stream = '${STREAM}' and revision = 299`,
    'event 01a20a20-0000-7000-8000-000000000000 (KeyRevoked, apiKey-key_300 revision 299, leaf 299 of org_mine) is in the log where the audit tree has event ID',
  ],
  [
    'a leaf that is gone from the log',
    `delete from event_log.events where stream = '${STREAM}' and revision = 299`,
    'event ID (KeyRevoked, apiKey-key_300 revision 299, leaf 299 of org_mine) was removed from the log. The audit tree still has it',
  ],
  [
    'the last leaf of a tree, which is gone from the log',
    `delete from event_log.events where position = (select max(position) from event_log.events)`,
    'leaf 602 of org_mine) was removed from the log. The audit tree still has it',
  ],
  [
    'the texts of a bundle',
    `update read_models.audit_bundles b set entries = (select entries from read_models.audit_bundles where tree = b.tree and bundle = 0)
     where tree = '${TREE}' and bundle = 1`,
    'bundle 1 of org_mine: from leaf 256 on its row in audit_bundles has other events than the log',
  ],
  [
    'texts of a bundle that cannot be read',
    `update read_models.audit_bundles set entries = '\\x00' where tree = '${TREE}' and bundle = 1`,
    'bundle 1 of org_mine: the log has leaves 256 to 511, but only 0 of them can be read',
  ],
  [
    'a bundle that is gone',
    `delete from read_models.audit_bundles where tree = '${TREE}' and bundle = 1`,
    'bundle 1 of org_mine',
  ],
  [
    'what a bundle is found by',
    `update read_models.audit_bundles set facets = '{}' where tree = '${TREE}' and bundle = 0`,
    'bundle 0 of org_mine: its row and its leaves have different facets',
  ],
  [
    'a tile',
    `update read_models.audit_tiles set hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1) where tree = '${TREE}'`,
    'tile 0 of level 1 of org_mine: hash 1',
  ],
  [
    'a longer tile',
    `update read_models.audit_tiles set hashes = hashes || hashes where tree = '${TREE}'`,
    '1 tiles of the wrong length',
  ],
  [
    'a leaf of the tail',
    `update read_models.audit_tail set leaf = replace(leaf, 'key_1', 'key_2') where tree = '${TREE}' and leaf_index = 520`,
    'leaf 520 of org_mine) in the audit tree was changed: data.keyId was "key_1" and is "key_2". The log is right',
  ],
  [
    'a leaf that is gone from the tail',
    `delete from read_models.audit_tail where tree = '${TREE}' and leaf_index = 520`,
    'bundle 2 of org_mine: the log has leaves 512 to 602, but only 8 of them',
  ],
  [
    'a leaf more in the tail',
    `insert into read_models.audit_tail select tree, 603, leaf, position from read_models.audit_tail where tree = '${TREE}' and leaf_index = 520`,
    '1 leaves in the tail too many for a tree of its size',
  ],
  [
    'a tree without its row',
    `delete from read_models.audit_trees where tree = '${OTHER}'`,
    'org_other: audit_trees has no row, but the log has 5 events',
  ],
  [
    'a tree without an owner',
    `insert into read_models.audit_trees select 'org_none', 3, latest, 0, 3 from read_models.audit_trees where tree = '${TREE}'`,
    'org_none: audit_trees has a row with 3 leaves',
  ],
  [
    'a lowered size',
    `update read_models.audit_trees set size = 602 where tree = '${TREE}'`,
    'org_mine: its row says 602 leaves, but the log has 603',
  ],
  [
    'a raised size',
    `update read_models.audit_trees set size = 604 where tree = '${TREE}'`,
    'org_mine: its row says 604 leaves, but the log has 603',
  ],
  [
    'a tree that is never signed again',
    `update read_models.audit_trees set grown_to = 1 where tree = '${TREE}'`,
    'its row says grownTo 1, but the log says',
  ],
  [
    'a checkpoint of another root',
    `update read_models.audit_checkpoints set note = reverse(note) where tree = '${TREE}' and size = 300`,
    'its row in audit_checkpoints differs',
  ],
  [
    'a checkpoint that is larger than its tree',
    `insert into read_models.audit_checkpoints select tree, 9999, note, vkey, signed_at from read_models.audit_checkpoints where size = 300`,
    'audit_checkpoints has a checkpoint of 9999 leaves that was never signed',
  ],
  [
    'a checkpoint that was never signed',
    `insert into read_models.audit_checkpoints select tree, 200, note, vkey, signed_at from read_models.audit_checkpoints where size = 300`,
    'audit_checkpoints has 3 checkpoints, but the log has 2',
  ],
];

/** Changes the text of leaf 256. */
export const changeText = async (pool: Pick<Pool, 'query'>): Promise<void> => {
  const where = `where tree = '${TREE}' and bundle = 1`;
  const { rows } = await pool.query(`select entries from read_models.audit_bundles ${where}`);
  const text = zstdDecompressSync(rows[0].entries).toString('latin1').replace('"keyId":"key_1"', '"keyId":"key_2"');
  const changed = zstdCompressSync(Buffer.from(text, 'latin1'));
  await pool.query(`update read_models.audit_bundles set entries = $1 ${where}`, [changed]);
};
