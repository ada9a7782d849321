# Reads mails with Perl's Email::MIME: a JSON list of mails comes in, a JSON list of what was read goes out.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use Email::Address::XS;
use Email::MIME;
use JSON::PP;
use MIME::Base64;

binmode STDIN;
binmode STDOUT;
local $SIG{__WARN__} = sub { };

# undef: the parser has no answer.
sub attempt { my ($work) = @_; return scalar eval { $work->() }; }

sub leaves_of {
    my ($part, $in_alternative) = @_;
    my $type = lc(attempt(sub { (split /[;\s]/, $part->content_type // '')[0] }) || 'text/plain');
    my @inner = $type =~ m{^multipart/} ? $part->subparts : ();
    return [$part, $type =~ m{^multipart/} ? 'text/plain' : $type, $in_alternative] unless @inner;
    return map { leaves_of($_, $in_alternative || $type eq 'multipart/alternative') } @inner;
}

sub read_part {
    my ($part, $type, $in_alternative) = @{ $_[0] };
    my $content = attempt(sub { $part->body }) // '';
    my $disposition = lc((split /[;\s]/, $part->header('Content-Disposition') // '')[0] // '');
    my $text = $type =~ m{^text/(?:plain|html)$} ? attempt(sub { $part->body_str }) // $content : '';
    return {
        type => $type,
        isAttached => $disposition !~ /^(?:inline)?$/ ? JSON::PP::true : JSON::PP::false,
        inAlternative => $in_alternative ? JSON::PP::true : JSON::PP::false,
        filename => attempt(sub { $part->filename }),
        text => $text,
        bytes => length $content,
        sha256 => sha256_hex($content),
    };
}

sub read_mail {
    my $mail = Email::MIME->new($_[0]);
    my $from = $mail->header_raw('From');
    return {
        subject => attempt(sub { $mail->header_str('Subject') // '' }),
        from => attempt(sub { [map { [$_->phrase // $_->comment // '', $_->address] } grep { defined $_->address } $mail->header_as_obj('From')->addresses] }),
        parts => [map { read_part($_) } leaves_of($mail, 0)],
    };
}

local $/;
my $json = JSON::PP->new->utf8;
print $json->encode([map { my $raw = decode_base64($_); attempt(sub { read_mail($raw) }) } @{ $json->decode(<STDIN>) }]);
