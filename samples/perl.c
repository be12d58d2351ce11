/* perl (microperl), of its source package, running a script: text, regular expressions, hashes, sorting, objects, closures. */
#include "freestanding/out.h"

#include <EXTERN.h>

#include <perl.h>

#include <stdio.h>

static char script[] =
    "my $size = shift; my $hash = 7; my $seed = 20011;\n"
    "sub mix { $hash = ($hash * 31 + $_[0]) % 4294967291 }\n"
    "sub random { $seed = ($seed * 16807) % 2147483647; return int($seed / 8) % $_[0] }\n"
    "sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }\n"
    "my @onsets = qw(b d f k l m n p r s t); my @vowels = qw(a e i o u);\n"
    "sub word { join '', map { $onsets[random(11)] . $vowels[random(5)] } 1 .. 1 + random(4) }\n"
    /* objects whose class inherits */
    "package Shape; sub new { my ($class, @sides) = @_; return bless {sides => [@sides]}, $class }\n"
    "sub area { my $self = shift; my $area = 1; $area *= $_ for @{$self->{sides}}; return $area }\n"
    "package Frame; our @ISA = ('Shape');\n"
    "sub area { my $self = shift; return $self->SUPER::area() - ($self->{sides}[0] - 1) * ($self->{sides}[1] - 1) }\n"
    "package main;\n"
    "for my $round (1 .. $size) {\n"
    /* a text, its words counted, sorted by two keys */
    "  my $text = join ' ', map { word() . (random(9) ? '' : '.') } 1 .. 600; my %count;\n"
    "  $count{lc $1}++ while $text =~ /([a-z]+)/g;\n"
    "  my @sorted = sort { $count{$b} <=> $count{$a} or $a cmp $b } keys %count;\n"
    "  mix($count{$sorted[$_]} * ord $sorted[$_]) for 0 .. $#sorted;\n"
    /* substitutions, with code too, and a table of letters */
    "  (my $changed = $text) =~ s/\\b([bdf])([aeiou])(\\w*)/$3$1$2/g; $changed =~ tr/a-y/b-z/;\n"
    "  $changed =~ s/(\\w+)\\./'<' . length($1) . '>'/ge; mix(unpack '%32C*', $changed);\n"
    "  mix(scalar(() = $changed =~ /(?:[cg]\\w+ ){2,3}<?\\d*/g));\n"
    /* records packed, taken apart, printed */
    "  my @records = map { pack 'nNa4', $_, random(1 << 30), $sorted[$_ % @sorted] } 1 .. 200;\n"
    "  for (sort @records) { my ($n, $value, $name) = unpack 'nNa4', $_; mix(length sprintf '%05d:%x:%s', $n, $value, $name) }\n"
    /* objects, closures, recursion, a list of lists */
    "  mix(($_ % 2 ? 'Frame' : 'Shape')->new($_, 3 + random(9))->area) for 1 .. 200;\n"
    "  my @adders = map { my $by = $_; sub { $_[0] + $by } } 1 .. 20; my $sum = 0; $sum = $_->($sum) for (@adders) x 10;\n"
    "  mix($sum + fib(13)); my @grid = map { my $y = $_; [map { $_ * $y % 7 } 1 .. 20] } 1 .. 20;\n"
    "  mix(join('', map { $_->[3] } grep { $_->[1] > 2 } @grid) % 1000003);\n"
    "}\n"
    "printf \"checksum %08x\\n\", $hash;\n";

int main(int argc, char **argv, char **environment)
{
    char size[32];
    char *arguments[] = {(char *)"perl", (char *)"-e", script, size, NULL};
    int argument_count = 4, failed;
    char **argument_list = arguments;
    PerlInterpreter *my_perl;
    snprintf(size, sizeof size, "%u", (unsigned)sample_begin(argc, argv, 1));
    PERL_SYS_INIT3(&argument_count, &argument_list, &environment);
    my_perl = perl_alloc();
    if (!my_perl)
        return 1;
    perl_construct(my_perl);
    PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
    failed = perl_parse(my_perl, NULL, argument_count, argument_list, NULL) || perl_run(my_perl);
    failed |= perl_destruct(my_perl);
    perl_free(my_perl);
    PERL_SYS_TERM();
    return failed;
}
