import { quoted } from '../../../lib/html/html.ts';
import { type AttachmentFact, type Check, type Discovery, discovery } from '../facts.ts';

/** Rules about attachments that receivers reject, or that disguise their type. */

const names = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/**
 * Extensions of files that run when opened, on some system. Gmail blocks most of them, Outlook all of those for
 * Windows.
 */
export const EXECUTABLE_TYPES = names(
  'ade adp apk app appimage application appref-ms appx appxbundle asp bash bat bin cab chm cmd com command cpl ' +
    'csh deb desktop diagcab diagcfg diagpkg dll dmg dylib elf ex ex_ exe gadget hlp hta img inf ins iso isp jar jnlp ' +
    'js jse ksh lib library-ms lnk mad maf mam mda mde mdt msc msh msh1 msh2 msi msix msixbundle msp mst msu nsh ocx ' +
    'osd out pcd pif pkg pl prf prg ps1 ps1xml ps2 psc1 psc2 psd1 psdm1 psm1 pyc pyo reg rpm run scf scpt scr sct sh ' +
    'shb shs so sys theme url vb vbe vbp vbs vhd vhdx vsmacros vsw vxd webpnp workflow ws wsc wsf wsh xbap xll xnk zsh',
);

/** Media types that receivers treat as programs, whatever the file name. */
export const EXECUTABLE_MEDIA_TYPES = names(
  'application/bat application/hta application/java-archive application/javascript application/vnd.android.package-archive ' +
    'application/vnd.microsoft.portable-executable application/x-bat application/x-csh application/x-dosexec ' +
    'application/x-elf application/x-executable application/x-javascript application/x-mach-binary ' +
    'application/x-ms-shortcut application/x-msdos-program application/x-msdownload application/x-msi ' +
    'application/x-powershell application/x-sh application/x-shellscript text/javascript text/vbscript ' +
    'text/x-shellscript',
);

/** Document extensions. An executable with one of these before its own extension pretends to be a document. */
export const DOCUMENT_TYPES = names(
  'avi bmp csv doc docx eml gif htm html jpeg jpg key mov mp3 mp4 odp ods odt pages pdf png ppt pptx rtf svg tif tiff ' +
    'txt wav webp xls xlsx xml zip',
);

export const ARCHIVE_TYPES = names('7z ace arj bz2 gz lha lz lzh lzma rar tar tbz tgz txz xz z zip zipx zst');

/** Leading bytes of programs, in hexadecimal. */
export const PROGRAM_HEADS: readonly (readonly [string, string])[] = [
  ['4d5a', 'a Windows program'],
  ['7f454c46', 'a Linux program'],
  ['2321', 'a script'],
  ['feedface', 'a macOS program'],
  ['feedfacf', 'a macOS program'],
  ['cefaedfe', 'a macOS program'],
  ['cffaedfe', 'a macOS program'],
  ['cafebabe', 'a Java or macOS program'],
  ['4c000000011402', 'a Windows shortcut'],
];

/** Characters that reverse the direction of the text after them: `annexe\u202Efdp.exe` looks like `annexeexe.pdf`. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Windows drops these from the end of a file name. */
const DROPPED_AT_END = /^[. ]$/;

const endings = (filename: string): readonly string[] => {
  let end = filename.length;
  while (DROPPED_AT_END.test(filename[end - 1] ?? '')) end -= 1;
  return filename.slice(0, end).toLowerCase().split('.').slice(1).reverse();
};

/** The media type without its parameters, which begin with a semicolon. */
const mediaTypeOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

const executable = ({ filename, contentType, head }: AttachmentFact): string | null => {
  const [last = '', before = ''] = endings(filename);
  const name = filename === '' ? 'the part without a name' : quoted(filename);
  if (EXECUTABLE_TYPES.has(last)) {
    return DOCUMENT_TYPES.has(before.trim())
      ? `${name} is a program that looks like a ${before.trim()} file`
      : `${name} is a program`;
  }
  const program = PROGRAM_HEADS.find(([bytes]) => head.startsWith(bytes));
  if (program !== undefined) return `${name} begins like ${program[1]}`;
  const mediaType = mediaTypeOf(contentType);
  return EXECUTABLE_MEDIA_TYPES.has(mediaType) ? `${name} is sent as ${mediaType}, the type of a program` : null;
};

function* judged(attachment: AttachmentFact): Generator<Discovery> {
  const { field, filename } = attachment;
  const program = executable(attachment);
  if (program !== null) yield discovery('attachment-executable', field, program);
  if (DIRECTION.test(filename)) {
    const said = `the name ${quoted(filename)} contains characters that turn the direction of text`;
    yield discovery('attachment-name-deceptive', field, said);
  }
  if (ARCHIVE_TYPES.has(endings(filename)[0] ?? '')) {
    yield discovery('attachment-archive', field, `${quoted(filename)} is an archive, into which filters may not see`);
  }
}

/** Reports attachments that receivers reject, or that disguise their type. */
export const attachments: Check = function* ({ attachments: list }) {
  for (const attachment of list) yield* judged(attachment);
};
