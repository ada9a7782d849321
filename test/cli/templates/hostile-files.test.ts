import { readdir, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newFolder, useTemplateFiles } from './template-files.ts';

const { now, push, pull, write, ask, writeWelcome } = useTemplateFiles();

describe('invalid files are rejected before anything is sent', () => {
  test.each([
    ['bad/template.yaml', 'name: [', /template\.yaml: .+line 1/],
    ['bad/template.yaml', 'name: A\nsubject: B\nsubjet: C\n', /: subjet is not a known field: did you mean subject\?$/],
    ['bad/template.yaml', 'subject: 7\n', /template\.yaml: name is required; subject must be a string$/],
    ['bad/template.yaml', '- a\n', /template\.yaml: the file must be an object$/],
    [
      'bad/template.yaml',
      'name: A\nsubject: B\nvariables: [{ name: 7 }]\n',
      /: variables\[0\]\.name must be a string; /,
    ],
    [
      'bad/template.yaml',
      'name: A\nsubject: B\nlocales: { "../x": { subject: C } }\n',
      /: locales\.\.\.\/x is malformed$/,
    ],
    ['bad/template.yaml', 'name: A\nsubject: {{ name }}\n', /template\.yaml: /],
    ['bad/template.yaml', 'name: &a A\nsubject: *a\n', /YAML aliases/],
    ['bad/template.yaml', 'name: A\nsubject: B\n', /template\.html: is missing/],
    ['Bad Alias/template.yaml', 'name: A\nsubject: B\n', /template\.html: is missing|'Bad Alias' is not a valid alias/],
    ['welcome/locales/fr/template.html', 'x', /fr: is not among the locales/],
    ['welcome/template.mjml', '<mjml></mjml>', /has both HTML and MJML/],
    ['welcome/template.html', 'x'.repeat(10_000_000), /is larger than 1000000 bytes/],
    ['welcome/template.lock', '{', /delete it/],
  ])('%s', async (path, text, sentence) => {
    await writeWelcome();
    await write(path, text);
    await expect(push()).rejects.toThrow(sentence);
    expect((await ask('GET', '')).data).toEqual([]);
  });

  test('symbolic links, of files and of folders', async () => {
    await writeWelcome();
    await rm(join(now.folder, 'welcome/template.html'));
    await symlink('/etc/passwd', join(now.folder, 'welcome/template.html'));
    await expect(push()).rejects.toThrow(/template\.html: is a symbolic link/);
    const other = await newFolder();
    await symlink(now.folder, join(other, 'welcome'));
    await expect(push({}, other)).rejects.toThrow(/welcome: is a symbolic link/);
  });
});

describe('pulling writes nothing outside the folder', () => {
  test('through a link in place of a folder', async () => {
    await writeWelcome();
    await push();
    const [other, outside] = [await newFolder(), await newFolder()];
    await write('welcome/template.yaml', 'name: A\nsubject: B\n', other);
    await write('welcome/template.html', 'x', other);
    await symlink(outside, join(other, 'welcome', 'locales'));
    await expect(pull({ overwrite: true }, other)).rejects.toThrow(/locales: is a symbolic link/);
    expect(await readdir(outside)).toEqual([]);
  });

  test('for an alias that leads out of the folder', async () => {
    const hostile = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: [{ alias: '../escaped' }], next_cursor: null }));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void hostile.close());
    await new Promise((resolve) => hostile.once('listening', resolve));
    vi.stubEnv('OUTBOX_URL', `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`);
    await expect(pull()).rejects.toThrow("'../escaped' is not a valid alias");
    expect(await readdir(now.folder)).toEqual([]);
  });
});
