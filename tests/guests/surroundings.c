/* Prints the arguments and the variables of the environment that it is asked for. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    for (int i = 1; i < count; i++)
        printf("%s=%s\n", words[i], getenv(words[i]) != NULL ? getenv(words[i]) : "(none)");
    return count;
}
