import { subtreesOf } from '../../../lib/transparency/transparency.ts';
import { type ExportHeader, exportEndBegin, readExportLine } from '../leaf.ts';
import type { Finding } from './disclosure.ts';
import { type BodyOptions, createExportBody } from './export-body.ts';
import { judge, type Verdict } from './judgement.ts';

/**
 * Verifies an export of a log (docs/audit.md), line by line. Nothing in the file is trusted: every leaf is hashed, the
 * tree is rebuilt, and the hashes, roots and keys in the file are compared with the result. Verification continues
 * after a fault, so that all faults are listed. Memory is constant except for 16 to 32 bytes for each event and each
 * stream.
 */

interface VerifyOptions extends BodyOptions {
  /** SHA-256 (hexadecimal) of all lines before the current one, followed by this text. */
  checksum(text: string): string;
}

export interface ExportVerifier {
  /**
   * Processes a line.
   * @param text a line without its line feed; null if it is not UTF-8, too long, or has no line feed.
   */
  line(text: string | null): void;
  end(): Verdict;
}

/** Further findings are counted, not listed. */
const FINDINGS_MAX = 100;

const createFindings = () => {
  const all: Finding[] = [];
  let more = 0;
  return {
    all,
    more: () => more,
    add: (finding: Finding): void => {
      if (all.length < FINDINGS_MAX) all.push(finding);
      else more += 1;
    },
  };
};

type Body = ReturnType<typeof createExportBody>;

export const createExportVerifier = (options: VerifyOptions): ExportVerifier => {
  const findings = createFindings();
  let body: Body | null = null;
  let checkpoint: string | null = null;
  let lines = 0;

  const fault = (sentence: string): void => findings.add({ kind: 'fault', sentence });

  const begin = (header: ExportHeader): void => {
    const isWhole = header.edge.length === subtreesOf({ from: 0, to: header.from }).length;
    if (!isWhole || header.from > header.size) fault('the header contradicts itself');
    else body = createExportBody(header, options, findings.add);
  };

  const finish = (text: string, sha256: string): void => {
    checkpoint = text;
    const own = options.checksum(exportEndBegin(text));
    if (own !== sha256) fault('the checksum does not match: the file was changed or damaged');
  };

  const take = (open: Body, text: string): void => {
    const line = readExportLine(text);
    if (line.kind === 'leaf') open.leaf(line.leaf);
    else if (line.kind === 'hashes') open.hashes(line.hashes);
    else if (line.kind === 'end') finish(line.checkpoint, line.sha256);
    else fault(`line ${lines} is not a leaf, hashes or the end`);
  };

  const first = (text: string): void => {
    const line = readExportLine(text);
    if (line.kind === 'header') begin(line.header);
  };

  return {
    line: (text) => {
      lines += 1;
      if (text === null) fault(`line ${lines} is not UTF-8 text that ends with a line feed`);
      else if (checkpoint !== null) fault(`line ${lines} comes after the checkpoint`);
      else if (body !== null) take(body, text);
      else if (lines === 1) first(text);
    },
    end: () => {
      const last = body?.flush() ?? null;
      if (last === null) fault('this is not an export: its first line is not an export header');
      else if (checkpoint === null) fault(`the end is cut off: no checkpoint follows leaf ${last}`);
      const roots = body?.earlierRoots;
      const earlier = options.since.map((each) => ({ each, root: roots?.get(each.signed?.checkpoint.size ?? -1) }));
      return judge({ findings: findings.all, more: findings.more(), parts: body?.parts ?? null, checkpoint, earlier });
    },
  };
};
